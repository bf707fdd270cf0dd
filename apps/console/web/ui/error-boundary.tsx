import { Component, type ReactNode } from 'react';
import { t } from '../i18n/text.ts';

/** A fault in one view leaves the others reachable. */
export class ErrorBoundary extends Component<{ children: ReactNode }, { error: Error | undefined }> {
  override state: { error: Error | undefined } = { error: undefined };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    if (!this.state.error) return this.props.children;
    return (
      <div className="notice notice-danger" role="alert">
        <p>{t('app.stopped', { message: this.state.error.message })}</p>
        <button type="button" className="button" onClick={() => this.setState({ error: undefined })}>
          {t('app.reopen')}
        </button>
      </div>
    );
  }
}
