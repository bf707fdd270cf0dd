'use client';

import { useCallback, useState } from 'react';

/** Which of a hook's actions is under way, and which of them failed last. */
export function useFollowed<Name extends string>() {
  const [state, setState] = useState<{ pending?: Name; failed?: Name }>({});
  const follow = useCallback(async <T>(name: Name, work: () => Promise<T>): Promise<T> => {
    setState({ pending: name });
    try {
      const result = await work();
      setState({});
      return result;
    } catch (error) {
      setState({ failed: name });
      throw error;
    }
  }, []);
  return { ...state, follow };
}
