package openlineage

import "strings"

// nameOfStream names topics, documents in content stores, and things that live in memory alone.
func nameOfStream(at location, table string) (namespace, name string, ok bool) {
	switch at.scheme {
	case "kafka":
		topic := table
		if topic == "" {
			topic = strings.Trim(at.path, "/")
		}
		if topic == "" || at.host == "" || !isPort(at.port) {
			return "", "", false
		}
		return "kafka://" + at.hostPort("9092"), topic, true
	case "pubsub":
		name, ok := pubsubName(at, table)
		return "pubsub", name, ok
	case "inmemory":
		if table == "" {
			table = at.authority + at.path
		}
		return "inmemory://", table, table != ""
	case "box", "mssharepoint":
		return nameOfDocument(at, table, "443")
	case "filenet":
		return nameOfDocument(at, table, "")
	default:
		return "", "", false
	}
}

// pubsubName writes topic:project:topic or subscription:project:subscription of what Google's clients write as
// projects/p/topics/t.
func pubsubName(at location, table string) (string, bool) {
	if strings.HasPrefix(table, "topic:") || strings.HasPrefix(table, "subscription:") {
		return table, true
	}
	whole := table
	if !strings.Contains(table, "/") {
		whole = strings.Trim(at.authority+at.path+"/"+table, "/")
	}
	switch parts := strings.Split(whole, "/"); {
	case len(parts) == 4 && parts[0] == "projects" && parts[2] == "topics":
		return "topic:" + parts[1] + ":" + parts[3], true
	case len(parts) == 4 && parts[0] == "projects" && parts[2] == "subscriptions":
		return "subscription:" + parts[1] + ":" + parts[3], true
	case len(parts) == 2 && parts[0] != "" && parts[1] != "":
		return "topic:" + parts[0] + ":" + parts[1], true
	default:
		return "", false
	}
}

// nameOfDocument names an object in a store whose first path part is an enterprise, a repository or a site.
func nameOfDocument(at location, table, defaultPort string) (namespace, name string, ok bool) {
	store, key, _ := strings.Cut(strings.Trim(at.path, "/"), "/")
	if table != "" {
		key = strings.Trim(joinPath(key, table), "/")
	}
	if at.host == "" || store == "" || key == "" || !isPort(at.port) {
		return "", "", false
	}
	return at.scheme + "://" + at.hostPort(defaultPort) + "/" + store, key, true
}
