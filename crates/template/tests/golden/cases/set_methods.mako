<%
    seen = set()
    unique = []
    for x in [3, 1, 3, 2, 1]:
        if x not in seen:
            seen.add(x)
            unique.append(x)
    seen.discard(9)
    seen.remove(3)
%>${unique} ${sorted(seen)}
