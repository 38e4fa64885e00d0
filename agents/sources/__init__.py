"""Sources of documents: files beside a message, an index of documents, web pages, searches."""
