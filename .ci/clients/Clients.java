import static java.nio.charset.StandardCharsets.UTF_8;

import com.github.mizosoft.methanol.MultipartBodyPublisher;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import okhttp3.MediaType;
import okhttp3.MultipartBody;
import okhttp3.OkHttp;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import org.apache.hc.client5.http.entity.mime.HttpMultipartMode;
import org.apache.hc.client5.http.entity.mime.MultipartEntityBuilder;
import org.apache.hc.client5.http.impl.classic.HttpClients;

/** Uploads each case of $CASES with each client for Java. */
public class Clients {
  static final byte[] content = "%PDF-1.7".getBytes(UTF_8);

  interface Client {
    void upload(String url, String name, String text) throws Exception;
  }

  static void okhttp(String url, String name, String text) throws Exception {
    var form = new MultipartBody.Builder().setType(MultipartBody.FORM).addFormDataPart("data[name]", "LOA");
    if (!text.isEmpty()) form.addFormDataPart("data[notes]", text);
    form.addFormDataPart("data[file]", name, RequestBody.create(content, MediaType.get("application/pdf")));
    new OkHttpClient().newCall(new Request.Builder().url(url).post(form.build()).build()).execute().close();
  }

  static Client apache4(org.apache.http.entity.mime.HttpMultipartMode mode, org.apache.http.entity.ContentType type) {
    return (url, name, text) -> {
      var form = org.apache.http.entity.mime.MultipartEntityBuilder.create().setMode(mode);
      form.addTextBody("data[name]", "LOA", type);
      if (!text.isEmpty()) form.addTextBody("data[notes]", text, type);
      form.addBinaryBody("data[file]", content, org.apache.http.entity.ContentType.DEFAULT_BINARY, name);
      var post = new org.apache.http.client.methods.HttpPost(url);
      post.setEntity(form.build());
      try (var client = org.apache.http.impl.client.HttpClients.createDefault()) {
        client.execute(post).close();
      }
    };
  }

  static void apache5(MultipartEntityBuilder form, String url, String name, String text) throws Exception {
    form.addTextBody("data[name]", "LOA");
    if (!text.isEmpty()) form.addTextBody("data[notes]", text);
    form.addBinaryBody("data[file]", content, org.apache.hc.core5.http.ContentType.DEFAULT_BINARY, name);
    var post = new org.apache.hc.client5.http.classic.methods.HttpPost(url);
    post.setEntity(form.build());
    try (var client = HttpClients.createDefault()) {
      client.execute(post, response -> null);
    }
  }

  static void methanol(String url, String name, String text) throws Exception {
    var form = MultipartBodyPublisher.newBuilder().textPart("data[name]", "LOA");
    if (!text.isEmpty()) form.textPart("data[notes]", text);
    var body = form.formPart("data[file]", name, BodyPublishers.ofByteArray(content)).build();
    var request = HttpRequest.newBuilder(URI.create(url)).header("Content-Type", body.mediaType().toString()).POST(body);
    HttpClient.newHttpClient().send(request.build(), BodyHandlers.discarding());
  }

  static String post(String path, String type, String data) throws Exception {
    var body = "{\"type\": \"" + type + "\", \"data\": " + data + "}";
    var request = HttpRequest.newBuilder(URI.create(System.getenv("URL") + "/api/v1/requests/" + System.getenv("REQUEST") + path));
    request.header("Authorization", "Bearer " + System.getenv("KEY")).header("Content-Type", "application/json");
    var response = HttpClient.newHttpClient().send(request.POST(BodyPublishers.ofString(body)).build(), BodyHandlers.ofString());
    if (response.statusCode() != 201) throw new IllegalStateException(response.body());
    return response.body();
  }

  static List<String> find(String pattern, String text) {
    return Pattern.compile(pattern).matcher(text).results().flatMap(one -> Stream.of(one.group(1), one.group(one.groupCount()))).toList();
  }

  /** Sends a file directly, with the headers of the response as they are. java.net.http refuses some headers. */
  static void uploadDirectly() throws Exception {
    var sha256 = HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(content));
    var file = "{\"filename\": \"loa.pdf\", \"bytes\": " + content.length + ", \"sha256\": \"" + sha256 + "\"}";
    var upload = post("/uploads", "upload", file);
    var put = HttpRequest.newBuilder(URI.create(find("\"url\":\"([^\"]*)\"", upload).get(0)));
    var headers = find("\"([^\"]+)\":\"([^\"]*)\"", find("\"headers\":\\{([^}]*)\\}", upload).get(0));
    put.headers(headers.toArray(String[]::new)).PUT(BodyPublishers.ofByteArray(content));
    var status = HttpClient.newHttpClient().send(put.build(), BodyHandlers.discarding()).statusCode();
    if (status != 200) throw new IllegalStateException("Storage returned " + status);
    post("/uploads/" + find("\"id\":\"([^\"]*)\"", upload).get(0) + "/complete", "request_attachment", "{\"name\": \"LOA\"}");
  }

  /** Takes the version from the name of the library's file. */
  static void each(String client, Class<?> library, Client with) throws Exception {
    var version = library.getProtectionDomain().getCodeSource().getLocation().getPath().replaceAll(".*-|\\.jar", "");
    var values = Files.readString(Path.of(System.getenv("CASES"))).split("\0", -1);
    for (int at = 0; at + 1 < values.length; at += 2) {
      try {
        with.upload(System.getenv("TO") + "/" + client.replace(" ", "%20") + "/" + version + "/" + at / 2, values[at], values[at + 1]);
      } catch (Exception error) {
        System.out.println(client + " " + error);
      }
    }
  }

  public static void main(String[] args) throws Exception {
    var mode = org.apache.http.entity.mime.HttpMultipartMode.RFC6532;
    var latin1 = org.apache.http.entity.ContentType.DEFAULT_TEXT;
    each("OkHttp", OkHttp.class, Clients::okhttp);
    each("Apache HttpClient 4", mode.getClass(), apache4(null, latin1));
    each("Apache HttpClient 4 RFC6532", mode.getClass(), apache4(mode, latin1.withCharset(UTF_8)));
    each("Apache HttpClient 5", MultipartEntityBuilder.class, (url, name, text) -> apache5(MultipartEntityBuilder.create(), url, name, text));
    each("Apache HttpClient 5 LEGACY", MultipartEntityBuilder.class, (url, name, text) ->
        apache5(MultipartEntityBuilder.create().setMode(HttpMultipartMode.LEGACY).setCharset(UTF_8), url, name, text));
    each("java.net.http with Methanol", MultipartBodyPublisher.class, Clients::methanol);
    uploadDirectly();
    System.exit(0);
  }
}
