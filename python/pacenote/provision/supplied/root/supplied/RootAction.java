package supplied;

import java.util.List;
import org.elasticsearch.Build;
import org.elasticsearch.client.internal.node.NodeClient;
import org.elasticsearch.cluster.ClusterState;
import org.elasticsearch.cluster.service.ClusterService;
import org.elasticsearch.index.IndexVersion;
import org.elasticsearch.rest.BaseRestHandler;
import org.elasticsearch.rest.RestRequest;
import org.elasticsearch.rest.RestResponse;
import org.elasticsearch.rest.RestStatus;
import org.elasticsearch.xcontent.XContentBuilder;

/** Answers GET and HEAD of the root path with what the server knows about its build. */
final class RootAction extends BaseRestHandler {
    private final ClusterService cluster;

    RootAction(ClusterService cluster) {
        this.cluster = cluster;
    }

    @Override
    public String getName() {
        return "pacenote_root_action";
    }

    @Override
    public List<Route> routes() {
        return List.of(new Route(RestRequest.Method.GET, "/"), new Route(RestRequest.Method.HEAD, "/"));
    }

    @Override
    protected RestChannelConsumer prepareRequest(RestRequest request, NodeClient client) {
        return channel -> {
            XContentBuilder body = channel.newBuilder();
            ClusterState state = cluster.state();
            body.startObject();
            body.field("name", cluster.getNodeName());
            body.field("cluster_name", state.getClusterName().value());
            body.field("cluster_uuid", state.metadata().clusterUUID());
            writeBuild(body);
            body.field("tagline", "You Know, for Search");
            body.endObject();
            channel.sendResponse(new RestResponse(RestStatus.OK, body));
        };
    }

    private static void writeBuild(XContentBuilder body) throws java.io.IOException {
        Build build = Build.current();
        body.startObject("version");
        body.field("number", build.qualifiedVersion());
        body.field("build_flavor", build.flavor());
        body.field("build_type", build.type().displayName());
        body.field("build_hash", build.hash());
        body.field("build_date", build.date());
        body.field("build_snapshot", build.isSnapshot());
        body.field("lucene_version", IndexVersion.current().luceneVersion().toString());
        body.field("minimum_wire_compatibility_version", build.minWireCompatVersion());
        body.field("minimum_index_compatibility_version", build.minIndexCompatVersion());
        body.endObject();
    }
}
