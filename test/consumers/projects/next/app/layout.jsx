import '@palaver/oracles-client-sdk/ui.css';

export const metadata = { title: 'The farm' };

export default function Layout({ children }) {
  return (
    <html lang="en">
      <body>{children}</body>
    </html>
  );
}
