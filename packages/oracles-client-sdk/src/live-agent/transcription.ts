import type { TextStreamReader, TranscriptionSegment } from 'livekit-client';

/** Where voice workers write what is said, by everybody in the call. */
export const transcriptionTopic = 'lk.transcription';

type Segment = Pick<TranscriptionSegment, 'id' | 'text' | 'final'>;

/** One piece of what is said, as it grows. A piece that is not final is sent again in a stream of the same segment. */
export async function* readTranscription(reader: TextStreamReader): AsyncGenerator<Segment> {
  const id = reader.info.attributes?.['lk.segment_id'] ?? reader.info.id;
  let text = '';
  for await (const chunk of reader) {
    text += chunk;
    yield { id, text, final: false };
  }
  // Read last: the end of a stream may bring attributes of its own.
  yield { id, text, final: reader.info.attributes?.['lk.transcription_final'] !== 'false' };
}
