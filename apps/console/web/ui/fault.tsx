import { ServiceFault } from '../api/call-service.ts';

/** Why something did not work. Services answer in English, whatever the language of the page. */
export function Fault({ error }: { error: Error }) {
  return (
    <p className="notice notice-danger" role="alert" dir="auto" lang={error instanceof ServiceFault ? 'en' : undefined}>
      {error.message}
    </p>
  );
}
