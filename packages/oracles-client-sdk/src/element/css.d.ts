declare module '*.css?inline' {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: Vite gives the text as the default export.
  export default text;
}
