/** Why a workbook is not a form. */
export class XlsFormFault extends Error {
  override readonly name = 'XlsFormFault';
}
