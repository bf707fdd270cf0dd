/** What the tests ask of somebody else in a call, over the edge of the browser. */
export interface Guest {
  join(ticket: { url: string; token: string; key: string }): Promise<void>;
  /** Says something as voice workers do: a stream of text whose attributes name the segment. */
  transcribe(segment: Segment): Promise<void>;
  look(): Promise<Seen>;
  leave(): Promise<void>;
}

export interface Segment {
  id: string;
  parts: string[];
  isFinal: boolean;
}

/** The call as it is from there. */
export interface Seen {
  /** What could not be decrypted. */
  faults: string[];
  /** Of the pictures: how much came, and how much of it could be shown. */
  bytes: number;
  frames: number;
  others: { identity: string; microphone: boolean; camera: boolean; screen: boolean }[];
}
