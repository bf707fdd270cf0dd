// Languages by the names people use for them, in English and in the languages themselves.

const tags =
  'af am ar az be bg bn bs ca cs cy da de el en es et eu fa fi fr ga gl gu ha he hi hr hu hy id ig is it ja ka kk km kn ko ky lo lt lv mg mk ml mn mr ms my nb ne nl nn no om or pa pl ps pt rn ro ru rw si sk sl sn so sq sr st sv sw ta te tg th ti tk tl tn tr ts uk ur uz vi wo xh yo zh zu'.split(
    ' ',
  );

let names: Map<string, string> | undefined;

/** The tag of a language given by name ("French", "français"), undefined if the name is not known. */
export function findLanguageTag(name: string): string | undefined {
  names ??= new Map(
    tags.flatMap((tag) => ['en', 'fr', 'sw', tag].map((locale): [string, string] => [nameOf(tag, locale), tag])),
  );
  return names.get(name.trim().toLowerCase());
}

function nameOf(tag: string, locale: string): string {
  return (new Intl.DisplayNames([locale], { type: 'language' }).of(tag) ?? tag).toLowerCase();
}
