"""What hosts and pages say of their use: robots.txt, headers, meta tags, links to licences."""
