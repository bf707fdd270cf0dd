// For Palaver's own packages and services: not part of the public interface, and changed without notice.

export { checkForms } from './check-forms.ts';
export { convertXlsForm, XlsFormFault } from './convert-xlsform.ts';
export { exploreForm, questionsOf, walkForm } from './explore-form.ts';
export { startFetching } from './fetch-forms.ts';
export type { FormCall, FormReport } from './form-protocol.ts';
export { askForm, createForms, type Forms } from './forms.ts';
export { createOpenRosaClient, elementsOf, type ListedForm, type OpenRosaClient } from './openrosa-client.ts';
