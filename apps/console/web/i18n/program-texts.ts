/** Half of all texts, which only the pages of programs use: the build makes files of their own of them. */
export const programTexts = /^(programs|try|results|callers)\./;
