// What the global setup provides to every test file.
declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string;
    redis: { url: string } | { reason: string };
  }
}

export {};
