interface Rule {
  pattern: RegExp;
  advice: string;
}

/** Words as a regular expression; a space also matches a line break. */
const word = (words: string, advice: string): Rule => ({
  pattern: new RegExp(`\\b(?:${words.replaceAll(' ', '(?: |\\n) *')})\\b`, 'gi'),
  advice,
});

/** Figures of speech and unusual phrases, each with what to write instead. */
export const rules: Rule[] = [
  word('anew', 'write "again"'),
  word('(?:is|are|be|was|were) told', 'name who gets which message: "receives", "shows", "reports"'),
  word('unless told|tells? apart', 'write "by default", or "distinguishes"'),
  word('goes? unheard|hears? nothing|only hears', 'say what is ignored, or who receives what'),
  word('by (?:itself|themselves)', 'write "automatically", or leave it out'),
  word("of one's own|of its own accord", 'write "its own", or "automatically"'),
  {
    pattern: /\bas (?:far as )?(?:it is|they are)(?=\s*(?:[.,;:)*|]|$))/gi,
    advice: 'write "unchanged", or say what is kept',
  },
  word('among (?:it|them)', 'write "including"'),
  word('stands? (?:here|there|beside|in for)', 'write "is"'),
  word('where (?:there are any|something is wrong|they differ)', 'write "if"'),
  word('how long it is good', 'write "lifetime"'),
  word('comes? along', 'write "is included", or "is installed with"'),
  word('in earnest', 'write "real", or "in production"'),
  word('looks? over', 'write "checks"'),
  word('takes? it up|taken up', 'write "resumes", or "continues"'),
  word('is believed|are believed|believes', 'write "is trusted", or "is used"'),
  word('judges?|judged', 'write "decides", or "checks"'),
  word('performers?|patience', 'use the field\'s word: "action", "retry policy"'),
  word('thanked', 'write "acknowledged"'),
  word('slip of the pen', 'write "typing mistake"'),
  word('a (?:wish|word) (?:of|on)', 'say it literally'),
  word('ends? with (?:1|0)', 'write "exit with status"'),
  word('goes? on', 'write "continues"'),
  word('mended?|mends', 'write "fix"'),
  word('told|tells? of', 'name who gets which message: "receives", "shows", "reports"'),
  word('heard|hears', 'write "received"'),
  word('made out to', 'write "for", or "with … as its audience"'),
  word(
    '(?<!there )(?:(?:is|are) none(?! of)|(?:is|are) no (?:part|screen|token|page|path|terminal|DID))',
    'write "is not a …"',
  ),
  word('wish(?:es)?', 'write "request", or "preference"'),
  word('fate', 'write "outcome"'),
  word('bites?', 'write "batch"'),
  word('hands on|handed on', 'write "forwards", "returns", or "passes"'),
  word('all the same', 'write "still", or "anyway"'),
  word('as (?:it|they) stands?', 'write "current", or "so far"'),
  word('(?:is|are|be) away', 'write "is unreachable"'),
  word('(?:take|takes|taken|took) (?:it|them|the run|a run) up', 'write "resume", or "take over"'),
  word('undefined where|false where', 'write "if"'),
  word('speaks? (?:of|for)|spoke of|(?:is|are) not spoken', 'write "mentions", "represents", or "is not supported"'),
  word(
    'stands? (?:on|before|between|alone|among|around|first|last|in (?:the|a|it))',
    'write "is", or "has … as its proof"',
  ),
  word('knows? (?:no|none)', 'write "has no", or "supports no"'),
  word('good for (?:an?|one)', 'write "valid for"'),
  word('callers fare|hands? (?:it|them) over to you|hands it to you', 'say what is shown or done'),
  word('tells? (?:(?:us|it|them) apart|whether|when|which|how)', 'write "shows", "says", or "distinguishes"'),
];
