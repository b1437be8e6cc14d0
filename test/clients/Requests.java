import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.math.BigInteger;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.security.MessageDigest;

/**
 * Sends requests with java.net.http. Each line of standard input is a request: method, URL, value
 * of Accept and body, separated by tabs; "-" is none. Each line of the output is a response:
 * status, content type and the SHA-256 of its body.
 */
public final class Requests {
  public static void main(String[] arguments) throws Exception {
    var client = HttpClient.newHttpClient();
    var lines = new BufferedReader(new InputStreamReader(System.in));
    for (var line = lines.readLine(); line != null; line = lines.readLine()) {
      var fields = line.split("\t");
      var body = fields[3].equals("-") ? BodyPublishers.noBody() : BodyPublishers.ofString(fields[3]);
      var request = HttpRequest.newBuilder(URI.create(fields[1])).method(fields[0], body);
      request.header("apikey", System.getenv("CORKBOARD_KEY"));
      if (!fields[2].equals("-")) request.header("Accept", fields[2]);
      var response = client.send(request.build(), BodyHandlers.ofByteArray());
      var digest = MessageDigest.getInstance("SHA-256").digest(response.body());
      var type = response.headers().firstValue("content-type").orElse("");
      System.out.printf("%d\t%s\t%064x%n", response.statusCode(), type, new BigInteger(1, digest));
    }
  }
}
