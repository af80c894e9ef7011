<%
    def seq_sq_wx(sq, wx):
        # by the name of the set
        if SetName.startswith("qq"):
            return sq
        return wx

    is_sq = SetName[:2] == "qq"
%>auth_type=${ seq_sq_wx("1", "2") }
auth_type=${ "1" if is_sq else "2" }
