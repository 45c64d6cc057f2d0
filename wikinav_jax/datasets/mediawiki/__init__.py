"""MediaWiki XML dumps to graphs: reading, wikitext, titles, and the parallel build."""
