import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import okhttp3.MediaType;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;
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
    client.setBasePath(System.getenv("URL"));
    client.setBearerToken(System.getenv("KEY"));
    attachments = new RequestAttachmentsApi(client);
    switches = new SwitchesApi(client);
  }

  interface Call {
    void run() throws ApiException;
  }

  static void equal(Object actual, Object expected) {
    if (!Objects.equals(actual, expected)) throw new AssertionError(actual + " is not " + expected);
  }

  /** The first of the typed errors of a call that must fail. */
  static ErrorObject errorOf(Call call) throws Exception {
    try {
      call.run();
    } catch (ApiException error) {
      return ErrorDocument.fromJson(error.getResponseBody()).getErrors().get(0);
    }
    throw new AssertionError("The call succeeded.");
  }

  static String byForm(Path file, String name) throws Exception {
    UUID reference = UUID.randomUUID();
    RequestAttachmentDocument created =
        attachments.createRequestAttachment(request, file.toFile(), name, null, null, null, "LOA", reference, null);
    equal(created.getData().getFileHint(), FileHint.LOA);
    equal(created.getData().getReferenceId(), reference);
    equal(created.getData().getFilename(), file.getFileName().toString());
    return created.getData().getId();
  }

  static String sha256(Path file) throws Exception {
    return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file)));
  }

  static String directly(Path file, String name) throws Exception {
    UploadCreateData announced = new UploadCreateData().filename("loa.pdf").contentType("application/pdf");
    announced.bytes((int) Files.size(file)).sha256(sha256(file));
    UploadCreate prepare = new UploadCreate().type(UploadCreate.TypeEnum.UPLOAD).data(announced);
    UploadData upload = attachments.createRequestAttachmentUpload(request, prepare, null).getData();
    Request.Builder put = new Request.Builder().url(upload.getUrl().toString());
    upload.getHeaders().forEach(put::header);
    RequestBody body = RequestBody.create(Files.readAllBytes(file), MediaType.get("application/pdf"));
    try (Response sent = client.getHttpClient().newCall(put.method(upload.getMethod().getValue(), body).build()).execute()) {
      equal(sent.code(), 200);
    }
    RequestAttachmentComplete complete =
        new RequestAttachmentComplete().type(RequestAttachmentComplete.TypeEnum.REQUEST_ATTACHMENT);
    complete.data(new AttachmentCompleteData().name(name));
    AttachmentData created =
        attachments.completeRequestAttachmentUpload(request, upload.getId(), complete, null).getData();
    equal(created.getFileHint(), FileHint.DEFAULT);
    return created.getId();
  }

  static List<RequestAttachmentDocument> walk() throws Exception {
    List<RequestAttachmentDocument> seen = new ArrayList<>();
    PageInfo info = null;
    do {
      String after = info == null ? null : info.getAfter();
      RequestAttachmentListData page =
          attachments.listRequestAttachments(request, 2, after, null, null, null, "file").getData();
      seen.addAll(page.getItems());
      info = page.getPageInfo();
    } while (info.getAfter() != null);
    equal(info.getTotal(), seen.size());
    return seen;
  }

  public static void main(String[] args) throws Exception {
    Path file = Files.createTempFile("loa", ".pdf");
    Files.write(file, new byte[] {0x25, 0x50, 0x44, 0x46, 0x2d, (byte) 0xff, 0});
    file.toFile().deleteOnExit();
    List<String> ids = new ArrayList<>(List.of(byForm(file, "One"), byForm(file, "Two")));
    System.out.println("form");
    ids.add(directly(file, "Three"));
    System.out.println("direct");
    List<RequestAttachmentDocument> listed = walk();
    equal(listed.stream().map(document -> document.getData().getId()).toList(), ids);
    for (RequestAttachmentDocument document : listed)
      equal(document.getAssociations().getFile().getData().getSha256(), sha256(file));
    System.out.println("pages");

    AttachmentUpdateData changes = new AttachmentUpdateData().name("Countersigned").notes(null);
    RequestAttachmentUpdate update =
        new RequestAttachmentUpdate().type(RequestAttachmentUpdate.TypeEnum.REQUEST_ATTACHMENT).data(changes);
    AttachmentData patched = attachments.updateRequestAttachment(request, ids.get(0), update, null).getData();
    equal(patched.getName(), "Countersigned");
    equal(patched.getNotes(), null);
    System.out.println("patch");

    SwitchCreateData settings = new SwitchCreateData().name("Java " + UUID.randomUUID()).smsProtocol(SmsProtocol.HTTP);
    SwitchCreate create = new SwitchCreate().type(SwitchCreate.TypeEnum.SWITCH).data(settings);
    SwitchDocument made = switches.createSwitch(create, null);
    equal(made.getData().getSmsProtocol(), SmsProtocol.HTTP);
    equal(made.getData().getSmsIdentity(), null);
    equal(made.getData().getSmsOptions(), null);
    String id = made.getData().getId();
    equal(switches.showSwitch(id, "account", null, null).getAssociations().getAccount().getType().getValue(), "account");
    System.out.println("switch");

    for (String one : ids) equal(attachments.deleteRequestAttachment(request, one, null).getData().getId(), one);
    ErrorObject missing = errorOf(() -> attachments.showRequestAttachment(request, ids.get(0), null, null, null));
    equal(missing.getCode(), ErrorCode.NOT_FOUND);
    equal(missing.getParams().getResource().getId(), ids.get(0));
    SwitchUpdate enable =
        new SwitchUpdate().type(SwitchUpdate.TypeEnum.SWITCH).data(new SwitchUpdateData().smsEnabled(true));
    ErrorObject invalid = errorOf(() -> switches.updateSwitch(id, enable, null));
    equal(invalid.getSubCode(), ErrorSubCode.CONSTRAINT_REQUIRED);
    equal(invalid.getSource().getPointer(), "/data/sms_endpoints");
    System.out.println("errors");
  }
}
