// For Palaver's own packages and services: not part of the public interface, and changed without notice.
export {
  actionKeywords,
  type BuiltIn,
  type BuiltInName,
  builtInNames,
} from './actions/actions.ts';
export { claimsPerDay } from './actions/claim.ts';
export { parseTotal, type RecordCheck, type Totals } from './actions/records.ts';
export { checkMenu, type MenuCheck } from './check/check-menu.ts';
export { checkProgram } from './check/check-program.ts';
export { around, type Constants, constantsOf, readConstants } from './explore/constants.ts';
export { explore } from './explore/explore.ts';
export { findCircles } from './explore/find-circles.ts';
export { resultsOf } from './explore/results.ts';
export type { Exploration, Finding, FormExploration, FormToExplore, ShownForm } from './explore/walk.ts';
export {
  type Caller,
  type Dialogue,
  type FormSnapshot,
  type Frame,
  type Input,
  type OpenForm,
  type PendingAction,
  type Place,
  type Reveal,
  type ScreenView,
  type SecretRef,
  type Step,
  toInput,
} from './model/dialogue.ts';
export { computeFields, computeText, filterRows, holds } from './model/evaluate.ts';
export type {
  FormHint,
  FormProgress,
  FormReply,
  FormScreen,
  FormSource,
  ScreenType,
  Submission,
} from './model/form-protocol.ts';
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
export { parseLocale } from './parse/parse-locale.ts';
export { parseMenu } from './parse/parse-menu.ts';
export { parseYaml } from './parse/parse-yaml.ts';
export { changeYaml, printFile, printYaml } from './parse/print.ts';
export { type ProgramSource, programFile, type SourceFile, toFormSources } from './parse/program-source.ts';
export { sayIssue } from './parse/say-issue.ts';
export { type ActionResult, type Opening, openDialogue, takeFormReply, takeInput, takeResult } from './run/engine.ts';
export { toFormSnapshot, toSnapshot } from './run/snapshot.ts';
export { drawMenu } from './show/draw-menu.ts';
export { countSeptets, isGsm, toShowable } from './show/gsm.ts';
export { fitsOneScreen, layOut } from './show/lay-out.ts';
export { backKeyOf, canGoBack, countPages, createSay, renderAlone, renderScreen } from './show/render.ts';
export type { ActionState } from './states/action.ts';
export { findAnswer, type PromptState } from './states/prompt.ts';
export { kinds } from './states/states.ts';
export { type Expression, ExpressionLimit, restoreExpression } from './values/expressions.ts';
export { type Fault, formatFault } from './values/fault.ts';
export { reservedKeys } from './values/keys.ts';
export { maxTextLength } from './values/limit-values.ts';
export { hasMatch } from './values/pattern.ts';
export { parseAnswer, type Question, type Validation } from './values/question.ts';
export { suggest } from './values/suggest.ts';
export { fromExpressionValue, parseJson } from './values/value-types.ts';
