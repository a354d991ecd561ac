import java.nio.file.Path;
import org.neo4j.configuration.GraphDatabaseSettings;
import org.neo4j.configuration.connectors.BoltConnector;
import org.neo4j.configuration.helpers.SocketAddress;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;

/** A Neo4j for tests, on one loopback port, without passwords; it ends with its input. java Neo4jServer.java DATA PORT */
class Neo4jServer {
    public static void main(String[] told) throws Exception {
        var address = new SocketAddress("127.0.0.1", Integer.parseInt(told[1]));
        new DatabaseManagementServiceBuilder(Path.of(told[0]))
                .setConfig(BoltConnector.enabled, true)
                .setConfig(BoltConnector.listen_address, address)
                .setConfig(BoltConnector.advertised_address, address)
                .setConfig(GraphDatabaseSettings.auth_enabled, false)
                .setConfig(GraphDatabaseSettings.udc_enabled, false)
                .setConfig(GraphDatabaseSettings.pagecache_memory, 64L << 20)
                .build();
        System.out.println("ready");
        while (System.in.read() >= 0) { }
        Runtime.getRuntime().halt(0);  // an orderly shutdown takes ten seconds, and nobody needs the data any more
    }
}
