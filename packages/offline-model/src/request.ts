/** A request the offline model knows how to fulfil with a tool. */
export interface OfflineRequest {
  tool: string;
  args: Record<string, unknown>;
  reasoning: string;
}
