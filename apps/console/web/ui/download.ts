export function download(name: string, text: string, type: string): void {
  save(name, new Blob([text], { type }));
}

export function downloadBytes(name: string, bytes: Uint8Array<ArrayBuffer>, type: string): void {
  save(name, new Blob([bytes], { type }));
}

function save(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1_000);
}
