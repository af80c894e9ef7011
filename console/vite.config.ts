import { defineConfig, type ProxyOptions } from 'vite';

/** The headers that the server sends with the console; the preview sends them too, so that browser tests run under them. */
const csp = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types muster-worker',
].join('; ');

/** The API of a real server. Its Origin check compares with its own address, so the proxy speaks as a page of the server. */
const server = process.env.MUSTER_URL ?? 'http://127.0.0.1:7100';
const api: ProxyOptions = {
  target: server,
  changeOrigin: true,
  configure: proxy => {
    proxy.on('proxyReq', request => {
      if (request.getHeader('origin')) request.setHeader('origin', new URL(server).origin);
      request.removeHeader('referer');
    });
  },
};

export default defineConfig({
  base: '/ui/',
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact', legalComments: 'none' },
  build: {
    target: ['chrome123', 'firefox120', 'safari17.5'],
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 400,
    modulePreload: { polyfill: false },
    rollupOptions: {
      output: {
        // One file for what most pages need: over HTTP/1.1 thirty small ones are slower.
        manualChunks: id =>
          /\/src\/(theme|components|table|process|url)\/|\/src\/logs\/ansi|\/src\/operate\/(host|target)/.test(id)
            ? 'parts'
            : undefined,
      },
    },
  },
  worker: { format: 'es' },
  server: { host: '127.0.0.1', port: 5173, proxy: { '/api': api } },
  preview: {
    host: '127.0.0.1',
    port: 4173,
    proxy: { '/api': api },
    headers: { 'Content-Security-Policy': csp, 'X-Content-Type-Options': 'nosniff' },
  },
});
