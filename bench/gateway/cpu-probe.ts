// Loaded before a front: reports the CPU time it has used when it is asked.
process.on('message', (message) => {
  if (message === 'cpu') process.send?.({ cpu: process.cpuUsage(), rss: process.memoryUsage.rss() });
});
process.channel?.unref();
