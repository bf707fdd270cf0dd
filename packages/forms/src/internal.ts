// For Palaver's own packages and services: not part of the public interface, and changed without notice.
export { askForm } from './ask-form.ts';
export { checkForms } from './check-forms.ts';
export { convertXlsForm, XlsFormFault } from './convert-xlsform.ts';
export { exploreForm, questionsOf } from './explore-form.ts';
export { startFetching } from './fetch-forms.ts';
export type { FormReport } from './form-protocol.ts';
export { createForms, type Forms } from './forms.ts';
export { createOpenRosaClient, elementsOf, type OpenRosaClient } from './openrosa-client.ts';
export { walkForm } from './walk-form.ts';
