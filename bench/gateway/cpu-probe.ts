// Loaded before a front: tells the CPU time it has used whenever it is asked.
process.on('message', (message) => {
  if (message === 'cpu') process.send?.({ cpu: process.cpuUsage(), rss: process.memoryUsage.rss() });
});
process.channel?.unref();
