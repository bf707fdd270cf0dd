import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import org.jsmpp.bean.*;
import org.jsmpp.extra.ProcessRequestException;
import org.jsmpp.session.*;
import org.jsmpp.session.Session;
import org.jsmpp.util.MessageId;

/**
 * A USSD centre and SMSC on the JSMPP library. Arguments: how many callers dial at once, how many milliseconds after its bind a link
 * that has carried a screen is cut (0: never), then what each caller types; after `--` another dialogue, of as many other callers. One that does not begin with a
 * code is by SMS. Prints the port, what the callers read, and every SMS message.
 */
public class UssdCentre {
  static final int PSSR_INDICATION = 1, USSR_REQUEST = 2, PSSR_RESPONSE = 17, USSR_CONFIRM = 18;
  /** Callers wait for as long as any of them gets on: how fast the machine is changes nothing. */
  static final int STALLED_MS = 120_000;
  static volatile long progressAt = System.currentTimeMillis();
  static final List<SMPPServerSession> bound = new CopyOnWriteArrayList<>();
  static final Set<Session> used = ConcurrentHashMap.newKeySet();
  static final Map<String, Caller> callers = new ConcurrentHashMap<>();
  static final AtomicInteger doubled = new AtomicInteger();
  static final AtomicLong ids = new AtomicLong();
  static final ExecutorService workers = Executors.newCachedThreadPool();

  static class Caller {
    final String number;
    final int session;
    final List<String> screens = new ArrayList<>();
    final SynchronousQueue<Integer> read = new SynchronousQueue<>();

    Caller(String number, int session) {
      this.number = number;
      this.session = session;
    }

    /** A screen for an input that was answered before is that of a repeated request: it must be the same. */
    synchronized boolean take(int sequence, String text) {
      if (sequence < screens.size()) {
        if (!screens.get(sequence).equals(text)) doubled.incrementAndGet();
        return false;
      }
      if (sequence > screens.size()) doubled.incrementAndGet();
      screens.add(text);
      progressAt = System.currentTimeMillis();
      return true;
    }
  }

  static class Receiver implements ServerMessageReceiverListener {
    public SubmitSmResult onAcceptSubmitSm(SubmitSm sm, SMPPServerSession from) throws ProcessRequestException {
      used.add(from);
      byte[] bytes = sm.getShortMessage();
      String text = new String(bytes, sm.getDataCoding() == 8 ? StandardCharsets.UTF_16BE : StandardCharsets.ISO_8859_1);
      String id = Long.toString(ids.incrementAndGet());
      OptionalParameter.Byte operation = (OptionalParameter.Byte) sm.getOptionalParameter(OptionalParameter.Tag.USSD_SERVICE_OP);
      if (operation == null) {
        print("SMS", sm.getDestAddress(), sm.getEsmClass() + "", sm.getDataCoding() + "", Base64.getEncoder().encodeToString(bytes));
        workers.submit(() -> receipt(from, sm, id));
        Caller texting = callers.get(sm.getDestAddress());
        if (texting != null)
          workers.submit(() -> {
            texting.screens.add(text);
            progressAt = System.currentTimeMillis();
            texting.read.put(texting.screens.size());
            return null;
          });
        return new SubmitSmResult(toId(id), new OptionalParameter[0]);
      }
      short info = ((OptionalParameter.Short) sm.getOptionalParameter(OptionalParameter.Tag.ITS_SESSION_INFO)).getValue();
      Caller caller = callers.get(sm.getDestAddress());
      int sequence = (info >> 1) & 127;
      boolean isLast = operation.getValue() == PSSR_RESPONSE;
      if (isLast != ((info & 1) == 1)) doubled.incrementAndGet();
      if (caller != null && caller.take(sequence, text))
        workers.submit(() -> {
          caller.read.put(isLast ? -1 : sequence);
          return null;
        });
      return new SubmitSmResult(toId(id), new OptionalParameter[0]);
    }

    public DataSmResult onAcceptDataSm(DataSm sm, Session from) throws ProcessRequestException { throw refused(); }
    public SubmitMultiResult onAcceptSubmitMulti(SubmitMulti sm, SMPPServerSession from) throws ProcessRequestException { throw refused(); }
    public QuerySmResult onAcceptQuerySm(QuerySm sm, SMPPServerSession from) throws ProcessRequestException { throw refused(); }
    public void onAcceptReplaceSm(ReplaceSm sm, SMPPServerSession from) throws ProcessRequestException { throw refused(); }
    public void onAcceptCancelSm(CancelSm sm, SMPPServerSession from) throws ProcessRequestException { throw refused(); }
    public BroadcastSmResult onAcceptBroadcastSm(BroadcastSm sm, SMPPServerSession from) throws ProcessRequestException { throw refused(); }
    public void onAcceptCancelBroadcastSm(CancelBroadcastSm sm, SMPPServerSession from) throws ProcessRequestException { throw refused(); }
    public QueryBroadcastSmResult onAcceptQueryBroadcastSm(QueryBroadcastSm sm, SMPPServerSession from) throws ProcessRequestException { throw refused(); }
  }

  static ProcessRequestException refused() {
    return new ProcessRequestException("not here", 3);
  }

  static MessageId toId(String id) {
    try {
      return new MessageId(id);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  static synchronized void print(String... parts) {
    System.out.println(String.join("\t", parts));
    System.out.flush();
  }

  /** Until the other side has acknowledged it, over whatever link there is. */
  static void deliver(String from, String to, byte esm, byte[] text, OptionalParameter... more) throws InterruptedException {
    for (int i = 0; ; i++) {
      try {
        SMPPServerSession link = bound.get(i % bound.size());
        link.deliverShortMessage(more.length > 0 ? "USSD" : "", TypeOfNumber.INTERNATIONAL, NumberingPlanIndicator.ISDN, from,
            TypeOfNumber.NETWORK_SPECIFIC, NumberingPlanIndicator.ISDN, to, new ESMClass(esm), (byte) 0, (byte) 0,
            new RegisteredDelivery(0), new GeneralDataCoding(), text, more);
        return;
      } catch (Exception e) {
        Thread.sleep(50);
      }
    }
  }

  static void receipt(SMPPServerSession link, SubmitSm sm, String id) {
    try {
      String text = "id:" + id + " sub:001 dlvrd:001 submit date:2611190101 done date:2611190101 stat:DELIVRD err:000 text:";
      deliver(sm.getDestAddress(), sm.getSourceAddr(), (byte) 4, text.getBytes(StandardCharsets.US_ASCII));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  static void call(Caller caller, String[] inputs) throws InterruptedException {
    boolean isTexting = !inputs[0].startsWith("*");
    for (int i = 0; i < inputs.length; i++) {
      byte operation = (byte) (i == 0 ? PSSR_INDICATION : USSR_CONFIRM);
      short info = (short) (caller.session << 8 | i << 1);
      OptionalParameter[] session = {new OptionalParameter.Ussd_service_op(operation), new OptionalParameter.Its_session_info(info)};
      deliver(caller.number, "1234", (byte) 0, inputs[i].getBytes(StandardCharsets.US_ASCII),
          isTexting ? new OptionalParameter[0] : session);
      Integer answered = null;
      while (answered == null && System.currentTimeMillis() - progressAt < STALLED_MS) answered = caller.read.poll(1, TimeUnit.SECONDS);
      if (answered == null || answered < 0) return;
    }
  }

  public static void main(String[] args) throws Exception {
    int count = Integer.parseInt(args[0]);
    int cutMs = Integer.parseInt(args[1]);
    String[][] dialogues = Arrays.stream(String.join("\n", Arrays.copyOfRange(args, 2, args.length)).split("\n--\n"))
        .map(dialogue -> dialogue.split("\n")).toArray(String[][]::new);
    int port;
    // The library does not say which port it was given.
    try (ServerSocket any = new ServerSocket(0)) {
      port = any.getLocalPort();
    }
    SMPPServerSessionListener listener = new SMPPServerSessionListener(port);
    listener.setPduProcessorDegree(20);
    listener.setMessageReceiverListener(new Receiver());
    print("PORT", port + "");
    workers.submit(() -> {
      for (;;) {
        SMPPServerSession link = listener.accept();
        workers.submit(() -> {
          BindRequest bind = link.waitForBind(5000);
          if (!bind.getPassword().equals("secret")) {
            bind.reject(14);
            return null;
          }
          // A lost link is noticed by this alone: the library goes on waiting for the response.
          link.setTransactionTimer(1000);
          bind.accept("centre", InterfaceVersion.IF_34);
          bound.add(link);
          link.addSessionStateListener((to, from, source) -> {
            if (to.isBound()) return;
            bound.remove(link);
            used.remove(link);
          });
          while (cutMs > 0 && link.getSessionState().isBound()) {
            Thread.sleep(cutMs);
            if (used.contains(link)) link.close();
          }
          return null;
        });
      }
    });
    while (bound.isEmpty()) Thread.sleep(20);
    print("BOUND");
    CountDownLatch open = new CountDownLatch(count * dialogues.length);
    for (int i = 0; i < count * dialogues.length; i++) {
      String[] inputs = dialogues[i / count];
      Caller caller = new Caller("2547" + (10_000_000 + i), i % 256);
      callers.put(caller.number, caller);
      workers.submit(() -> {
        try {
          call(caller, inputs);
        } finally {
          open.countDown();
        }
        return null;
      });
    }
    open.await();
    Map<String, Integer> transcripts = new TreeMap<>();
    for (Caller caller : callers.values()) transcripts.merge(String.join("\f", caller.screens), 1, Integer::sum);
    for (Map.Entry<String, Integer> transcript : transcripts.entrySet())
      print("READ", transcript.getValue() + "", Base64.getEncoder().encodeToString(transcript.getKey().getBytes(StandardCharsets.UTF_8)));
    print("DONE", doubled.get() + "");
    while (System.in.read() >= 0) continue;
    System.exit(0);
  }
}
