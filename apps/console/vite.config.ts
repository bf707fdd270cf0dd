import { defineConfig } from 'vite';

export default defineConfig({
  base: '/',
  define: { 'process.env.NODE_ENV': '"production"' },
  // Whatever NODE_ENV is: development code names the files it was built from.
  oxc: { jsx: { runtime: 'automatic', development: false } },
  build: { target: 'es2022', modulePreload: { polyfill: false }, assetsInlineLimit: 0, reportCompressedSize: false },
});
