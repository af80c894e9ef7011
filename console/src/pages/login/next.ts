/** Where to go after the login: only pages of the console, whatever the address says. */
export function safeNext(next: string | undefined): string {
  if (!next) return '/ui/';
  try {
    const url = new URL(next, 'http://console.invalid');
    const own =
      url.host === 'console.invalid' && url.pathname.startsWith('/ui/') && !url.pathname.startsWith('/ui/login');
    return own ? url.pathname + url.search : '/ui/';
  } catch {
    return '/ui/';
  }
}
