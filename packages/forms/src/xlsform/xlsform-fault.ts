export class XlsFormFault extends Error {
  override readonly name = 'XlsFormFault';
}
