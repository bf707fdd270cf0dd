import '@palaver/oracles-client-sdk/ui.css';

export const metadata = { title: 'The farm' };
export const viewport = { colorScheme: 'light dark' };

export default function Layout({ children }) {
  return (
    <html lang="en">
      <body>{children}</body>
    </html>
  );
}
