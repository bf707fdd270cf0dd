import { defaultLabels, type Labels, loadLabels } from '@palaver/oracles-client-sdk/ui';
import { useQuery } from '@tanstack/react-query';
import { intlLocale, useLocale } from '../i18n/text.ts';

/** The words of the library's parts, in the language of the page. */
export function useLabels(): Labels {
  const locale = useLocale();
  const { data } = useQuery({
    queryKey: ['chat-labels', locale],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: () => loadLabels(locale),
  });
  return { ...defaultLabels, ...data, language: intlLocale() };
}
