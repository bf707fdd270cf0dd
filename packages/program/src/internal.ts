// For Palaver's own packages and services: not part of the public interface, and changed without notice.
export {
  actionKeywords,
  type BuiltIn,
  type BuiltInName,
  builtInNames,
} from './actions/actions.ts';
export { claimsPerDay } from './actions/claim.ts';
export { parseTotal, type Totals } from './actions/records.ts';
export { checkMenu, checkProgram, type MenuCheck } from './check/check-program.ts';
export { explore, findCircles } from './explore/explore.ts';
export { resultsOf } from './explore/made-up.ts';
export {
  around,
  type Constants,
  type Exploration,
  type Finding,
  type FormExploration,
  type FormToExplore,
  readConstants,
  type ShownForm,
} from './explore/walk.ts';
export {
  type Caller,
  type Dialogue,
  type FormHint,
  type FormProgress,
  type FormReply,
  type FormScreen,
  type FormSnapshot,
  type FormSource,
  type Frame,
  type Input,
  type OpenForm,
  type PendingAction,
  type Place,
  type Reveal,
  type ScreenType,
  type ScreenView,
  type Step,
  type Submission,
  toInput,
} from './model/dialogue.ts';
export { computeFields, computeText, filterRows, holds } from './model/evaluate.ts';
export { hasText, translate } from './model/locales.ts';
export {
  type ActionSignature,
  type Menu,
  nameOf,
  type Records,
  type Registry,
  type State,
  type Validator,
} from './model/menu.ts';
export { parseLocale, parseMenu } from './parse/parse-menu.ts';
export { parseYaml } from './parse/parse-yaml.ts';
export { changeYaml, printFile, printYaml } from './parse/print.ts';
export { type ProgramSource, programFile, type SourceFile, toFormSources } from './parse/program-source.ts';
export { sayIssue } from './parse/say-issue.ts';
export {
  type ActionResult,
  type Opening,
  openDialogue,
  takeFormReply,
  takeInput,
  takeResult,
  toFormSnapshot,
  toSnapshot,
} from './run/engine.ts';
export { drawMenu } from './show/draw-menu.ts';
export { countSeptets, isGsm, toShowable } from './show/gsm.ts';
export { fitsOneScreen } from './show/lay-out.ts';
export { backKeyOf, canGoBack, countPages, createSay, renderAlone, renderScreen } from './show/render.ts';
export type { ActionState } from './states/action.ts';
export { findAnswer, type PromptState } from './states/prompt.ts';
export { kinds } from './states/states.ts';
export { type Expression, ExpressionLimit, restoreExpression } from './values/expressions.ts';
export { type Fault, formatFault, suggest } from './values/fault.ts';
export { reservedKeys } from './values/keys.ts';
export { maxTextLength } from './values/limits.ts';
export type { Question, Validation } from './values/question.ts';
export { fromExpressionValue, parseJson } from './values/value-types.ts';
