import java.net.Authenticator;
import java.net.PasswordAuthentication;
import java.net.URI;

/**
 * For `effectgate run`: the JDK reads a proxy's host and port from system properties, but its user and password only from an
 * Authenticator. This agent answers for the proxy of HTTPS_PROXY, and for nothing else.
 *
 * Built into java_proxy.jar by build_java_proxy.sh beside it.
 */
public final class ProxyLogin extends Authenticator {
    private final URI proxy;

    private ProxyLogin(URI proxy) {
        this.proxy = proxy;
    }

    public static void premain(String arguments) {
        String proxy = System.getenv("HTTPS_PROXY");
        if (proxy != null && proxy.contains("@")) {
            Authenticator.setDefault(new ProxyLogin(URI.create(proxy)));
        }
    }

    @Override
    protected PasswordAuthentication getPasswordAuthentication() {
        boolean ours = getRequestorType() == RequestorType.PROXY
            && proxy.getHost().equals(getRequestingHost()) && proxy.getPort() == getRequestingPort();
        if (!ours) {
            return null;
        }
        String[] login = proxy.getUserInfo().split(":", 2);
        return new PasswordAuthentication(login[0], login[1].toCharArray());
    }
}
