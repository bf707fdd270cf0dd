// The script of pages that have no build step, with React inside.
import { definePalaverChat } from './palaver-chat.tsx';

definePalaverChat();
