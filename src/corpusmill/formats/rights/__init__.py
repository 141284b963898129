"""What hosts and pages say of their use.

    rights   what a page and its server say: headers, meta tags, links to licences
    robots   robots.txt: which agents it keeps from an address
    usage    preferences by AIPREF, licences by RSL

What is decided by it is in `steps.rights`.
"""
