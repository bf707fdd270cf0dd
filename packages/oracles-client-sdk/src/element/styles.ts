import css from '../ui/ui.css?inline';

/** The interface's own rules, and those of the element around it: it may be narrow on a wide page. */
export const styles = `${css}
:host { display: block; block-size: 30rem; container-type: inline-size; }
:host([hidden]) { display: none; }
:host([theme='light']) { color-scheme: light; }
:host([theme='dark']) { color-scheme: dark; }
:host([theme='auto']) { color-scheme: light dark; }
div:has(> .palaver-chat) { block-size: 100%; }
@container (max-width: 40rem) {
  .palaver-chat { grid-template-columns: 1fr; grid-template-rows: auto 1fr; }
  .palaver-sessions { max-block-size: 10rem; }
}
`;
