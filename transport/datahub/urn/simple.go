package urn

import "strings"

// DataPlatform returns the URN of a platform, such as postgres. A platform's URN is returned as it is.
func DataPlatform(name string) (string, error) { return simple(name, DataPlatformType) }

// DataProcessInstance returns the URN of a run.
func DataProcessInstance(id string) (string, error) { return simple(id, DataProcessInstanceType) }

// Tag returns the URN of a tag, such as pii or team:data.
func Tag(name string) (string, error) { return simple(name, TagType) }

// User returns the URN of a user. The URN of a user or of a group is returned as it is, since both can own.
func User(name string) (string, error) { return simple(name, UserType, GroupType) }

// Group returns the URN of a group. The URN of a user or of a group is returned as it is, since both can own.
func Group(name string) (string, error) { return simple(name, GroupType, UserType) }

// Domain returns the URN of a domain.
func Domain(id string) (string, error) { return simple(id, DomainType) }

// Container returns the URN of a container, such as a database or a schema; its id is a GUID.
func Container(id string) (string, error) { return simple(id, ContainerType) }

// ParsePlatform returns the name in a platform's URN.
func ParsePlatform(text string) (string, error) { return parseSimple(text, DataPlatformType) }

// ParseDataProcessInstance returns the id in a run's URN.
func ParseDataProcessInstance(text string) (string, error) {
	return parseSimple(text, DataProcessInstanceType)
}

// ParseTag returns the name in a tag's URN.
func ParseTag(text string) (string, error) { return parseSimple(text, TagType) }

// ParseUser returns the name in a user's URN.
func ParseUser(text string) (string, error) { return parseSimple(text, UserType) }

// ParseGroup returns the name in a group's URN.
func ParseGroup(text string) (string, error) { return parseSimple(text, GroupType) }

// ParseDomain returns the id in a domain's URN.
func ParseDomain(text string) (string, error) { return parseSimple(text, DomainType) }

// ParseContainer returns the id in a container's URN.
func ParseContainer(text string) (string, error) { return parseSimple(text, ContainerType) }

// simple writes a URN of one part; a URN of one of the types is returned as it is, once it is known to be a good one.
func simple(name string, types ...string) (string, error) {
	for _, entity := range types {
		if strings.HasPrefix(name, prefix+entity+":") {
			if _, err := Parse(name); err != nil {
				return "", err
			}
			return name, nil
		}
	}
	return build(types[0], name)
}

func parseSimple(text, entity string) (string, error) {
	parts, err := parseAs(text, entity)
	if err != nil {
		return "", err
	}
	return parts[0], nil
}
