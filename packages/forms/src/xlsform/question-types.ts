export interface QuestionType {
  /** Without one, the question is not shown. */
  control?: string;
  body?: Record<string, string>;
  bind: Record<string, string>;
  isMeta?: boolean;
}

const input = (type: string): QuestionType => ({ control: 'input', bind: { type } });
const upload = (mediatype: string): QuestionType => ({
  control: 'upload',
  body: { mediatype },
  bind: { type: 'binary' },
});
const preload = (type: string, kind: string, params: string): QuestionType => ({
  bind: { type, 'jr:preload': kind, 'jr:preloadParams': params },
});

/** https://xlsform.org/en/#question-types, and https://getodk.github.io/xforms-spec/#data-types */
export const questionTypes: Record<string, QuestionType> = {
  text: input('string'),
  integer: input('int'),
  decimal: input('decimal'),
  date: input('date'),
  time: input('time'),
  datetime: input('dateTime'),
  geopoint: input('geopoint'),
  geotrace: input('geotrace'),
  geoshape: input('geoshape'),
  barcode: input('barcode'),
  note: { control: 'input', bind: { type: 'string', readonly: 'true()' } },
  image: upload('image/*'),
  audio: upload('audio/*'),
  video: upload('video/*'),
  file: upload('application/*'),
  acknowledge: { control: 'trigger', bind: { type: 'string' } },
  range: { control: 'range', bind: { type: 'int' } },
  calculate: { bind: { type: 'string' } },
  hidden: { bind: { type: 'string' } },
  start: preload('dateTime', 'timestamp', 'start'),
  end: preload('dateTime', 'timestamp', 'end'),
  today: preload('date', 'date', 'today'),
  deviceid: preload('string', 'property', 'deviceid'),
  phonenumber: preload('string', 'property', 'phonenumber'),
  username: preload('string', 'property', 'username'),
  email: preload('string', 'property', 'email'),
  audit: { bind: { type: 'binary' }, isMeta: true },
};

export const typeAliases: Record<string, string> = {
  string: 'text',
  int: 'integer',
  photo: 'image',
  trigger: 'acknowledge',
  calculation: 'calculate',
  imei: 'deviceid',
  phone_number: 'phonenumber',
  'phone number': 'phonenumber',
  location: 'geopoint',
  gps: 'geopoint',
};
