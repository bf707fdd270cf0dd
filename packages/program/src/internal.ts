// For Palaver's own packages and services: not part of the public interface, and changed without notice.
export { actionKeywords, type BuiltIn, type BuiltInName, builtInNames } from './actions/actions.ts';
export { claimsPerDay } from './actions/claim.ts';
export { parseTotal, type Totals } from './actions/records.ts';
export { checkMenu, checkProgram, type MenuCheck } from './check/check-program.ts';
export { type Exploration, explore, type FormExploration, type FormToExplore, findCircles } from './explore/explore.ts';
export { around, type Constants, readConstants, resultsOf } from './explore/made-up.ts';
export {
  type Dialogue,
  type FormHint,
  type FormProgress,
  type FormReply,
  type FormScreen,
  type FormSnapshot,
  type FormSource,
  type Input,
  type Reveal,
  type ScreenType,
  type ShownForm,
  type Step,
  type Submission,
  toInput,
} from './model/dialogue.ts';
export { computeFields, computeText, filterRows, holds } from './model/evaluate.ts';
export { hasText, translate } from './model/locales.ts';
export { type ActionSignature, type Menu, nameOf, type Registry, type State, type Validator } from './model/menu.ts';
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
export { countSeptets, isGsm, toShowable } from './show/gsm.ts';
export { fitsOneScreen } from './show/lay-out.ts';
export { backKeyOf, canGoBack, countPages, createSay, drawMenu, renderAlone, renderScreen } from './show/render.ts';
export type { ActionState } from './states/action.ts';
export { findAnswer } from './states/prompt.ts';
export type { Question } from './states/question.ts';
export { kinds } from './states/states.ts';
export { type Expression, ExpressionLimit, restoreExpression } from './values/expressions.ts';
export { type Fault, formatFault, suggest } from './values/fault.ts';
export { reservedKeys } from './values/keys.ts';
export { maxTextLength } from './values/limits.ts';
export { fromExpressionValue, parseJson } from './values/value-types.ts';
