package adapter

import (
	"net/url"
	"strings"

	"github.com/prefect-openlineage/listener/openlineage"
)

// codePage returns the address at which people see the file, or the repository where no file is known, for the hosts
// whose pages are known; else the repository's address.
func codePage(repository *url.URL, facet openlineage.SourceCodeLocationJobFacet) string {
	page := *repository
	page.Path = strings.TrimSuffix(page.Path, ".git")
	if page.Scheme != "http" && page.Scheme != "https" {
		page.Scheme, page.Host = "https", page.Hostname() // SSH has a port of its own
	}
	ref := facet.Version
	if ref == "" {
		ref = facet.Branch
	}
	switch host := page.Hostname(); {
	case host == "github.com" || strings.HasPrefix(host, "github."):
		return blobPage(page, "blob", ref, facet.Path)
	case host == "gitlab.com" || strings.HasPrefix(host, "gitlab."):
		return blobPage(page, "-/blob", ref, facet.Path)
	case host == "bitbucket.org":
		return blobPage(page, "src", ref, facet.Path)
	case host == "dev.azure.com" || host == "ssh.dev.azure.com" || strings.HasSuffix(host, ".visualstudio.com"):
		return azurePage(repository, page, facet)
	default:
		if at, ok := bitbucketServerPage(page, ref, facet.Path); ok {
			return at
		}
		return repository.String()
	}
}

// blobPage is the page of a file under its branch or commit, HEAD where none is known.
func blobPage(page url.URL, infix, ref, file string) string {
	if file != "" {
		if ref == "" {
			ref = "HEAD"
		}
		page.Path += "/" + infix + "/" + ref + "/" + file
	}
	return page.String()
}

// azurePage is a page of Azure DevOps. Over SSH its repositories stand under v3/organization/project/repository.
func azurePage(repository *url.URL, page url.URL, facet openlineage.SourceCodeLocationJobFacet) string {
	if parts := strings.Split(strings.Trim(page.Path, "/"), "/"); len(parts) == 4 && parts[0] == "v3" {
		page.Path = "/" + parts[1] + "/" + parts[2] + "/_git/" + parts[3]
		page.Host = "dev.azure.com"
	}
	if !strings.Contains(page.Path, "/_git/") {
		return repository.String()
	}
	query := url.Values{}
	if facet.Path != "" {
		query.Set("path", "/"+facet.Path)
	}
	switch {
	case facet.Version != "":
		query.Set("version", "GC"+facet.Version)
	case facet.Branch != "":
		query.Set("version", "GB"+facet.Branch)
	}
	page.RawQuery = query.Encode()
	return page.String()
}

// bitbucketServerPage is a page of a Bitbucket of one's own, whose repositories are cloned from /scm/project/repository.
func bitbucketServerPage(page url.URL, ref, file string) (string, bool) {
	before, after, ok := strings.Cut(page.Path, "/scm/")
	project, repository, named := strings.Cut(after, "/")
	if !ok || !named || strings.Contains(repository, "/") {
		return "", false
	}
	folder := "/projects/" + project
	if user, own := strings.CutPrefix(project, "~"); own {
		folder = "/users/" + user
	}
	page.Path = before + folder + "/repos/" + repository + "/browse"
	if file != "" {
		page.Path += "/" + file
	}
	if ref != "" {
		page.RawQuery = url.Values{"at": {ref}}.Encode()
	}
	return page.String(), true
}
