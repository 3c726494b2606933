import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.RequestAttachmentsApi;
import org.openapitools.client.api.SwitchesApi;
import org.openapitools.client.model.*;

/** Uses the client that openapi-generator generates, against a running service. */
public class Driver {
  static final String request = System.getenv("REQUEST");
  static final ApiClient client = new ApiClient();
  static final RequestAttachmentsApi attachments;
  static final SwitchesApi switches;

  static {
    client.updateBaseUri(System.getenv("URL"));
    client.setRequestInterceptor(call -> call.header("Authorization", "Bearer " + System.getenv("KEY")));
    attachments = new RequestAttachmentsApi(client);
    switches = new SwitchesApi(client);
  }

  interface Call {
    void run() throws ApiException;
  }

  static void equal(Object actual, Object expected) {
    if (!Objects.equals(actual, expected)) throw new AssertionError(actual + " is not " + expected);
  }

  /** The typed errors of a call that must fail. */
  static List<ErrorObject> errorsOf(Call call) throws Exception {
    try {
      call.run();
    } catch (ApiException error) {
      return client.getObjectMapper().readValue(error.getResponseBody(), ErrorDocument.class).getErrors();
    }
    throw new AssertionError("The call succeeded.");
  }

  static String upload(Path file, String name) throws Exception {
    UUID reference = UUID.randomUUID();
    RequestAttachmentDocument created =
        attachments.createRequestAttachment(
            request, file.toFile(), name, null, null, null, FileHint.LOA, reference, null);
    AttachmentData data = created.getData();
    equal(data.getName(), name);
    equal(data.getFileHint(), FileHint.LOA);
    equal(data.getReferenceId(), reference);
    equal(data.getFilename(), file.getFileName().toString());
    equal(created.getAssociations().getRequest().getData().getId(), request);
    return data.getId();
  }

  static List<String> walk() throws Exception {
    List<String> seen = new ArrayList<>();
    PageInfo info = null;
    do {
      String after = info == null ? null : info.getAfter();
      RequestAttachmentListData page = attachments.listRequestAttachments(request, 2, after, null, null).getData();
      for (RequestAttachmentDocument item : page.getItems()) seen.add(item.getData().getId());
      info = page.getPageInfo();
    } while (info.getAfter() != null);
    equal(info.getTotal(), seen.size());
    return seen;
  }

  public static void main(String[] args) throws Exception {
    Path file = Files.createTempFile("loa", ".pdf");
    Files.write(file, new byte[] {0x25, 0x50, 0x44, 0x46, (byte) 0xff, 0});
    file.toFile().deleteOnExit();
    List<String> ids = List.of(upload(file, "One"), upload(file, "Two"), upload(file, "Three"));
    List<String> seen = walk();
    seen.retainAll(ids);
    equal(seen, ids);

    AttachmentUpdateData changes = new AttachmentUpdateData().name("Countersigned").notes(null);
    RequestAttachmentUpdate update =
        new RequestAttachmentUpdate().type(RequestAttachmentUpdate.TypeEnum.REQUEST_ATTACHMENT).data(changes);
    AttachmentData patched = attachments.updateRequestAttachment(request, ids.get(0), update, null).getData();
    equal(patched.getName(), "Countersigned");
    equal(patched.getNotes(), null);

    for (String id : ids) equal(attachments.deleteRequestAttachment(request, id, null).getData().getId(), id);
    ErrorObject missing = errorsOf(() -> attachments.showRequestAttachment(request, ids.get(0))).get(0);
    equal(missing.getCode(), ErrorCode.NOT_FOUND);
    equal(missing.getParams().getResource().getId(), ids.get(0));

    SwitchCreateData settings =
        new SwitchCreateData().name("Java " + UUID.randomUUID()).smsAuthMethod(AuthMethod.BASIC).smsProtocol(SmsProtocol.HTTP);
    SwitchCreate body = new SwitchCreate().type(SwitchCreate.TypeEnum.SWITCH).data(settings);
    SwitchDocument created = switches.createSwitch(body, null);
    equal(created.getData().getSmsAuthMethod(), AuthMethod.BASIC);
    equal(created.getData().getSmsOptions(), null);
    String id = created.getData().getId();

    SwitchUpdateData enabled = new SwitchUpdateData().smsEnabled(true).smsEndpoints(List.of("https://a.example/"));
    SwitchUpdate invalid = new SwitchUpdate().type(SwitchUpdate.TypeEnum.SWITCH).data(enabled);
    List<ErrorObject> errors = errorsOf(() -> switches.updateSwitch(id, invalid, null));
    equal(errors.stream().map(error -> error.getSource().getPointer()).toList(), List.of("/data/sms_identity", "/data/sms_secret"));
    for (ErrorObject error : errors) equal(error.getSubCode(), ErrorSubCode.CONSTRAINT_REQUIRED);
    equal(switches.deleteSwitch(id, null), created);
  }
}
