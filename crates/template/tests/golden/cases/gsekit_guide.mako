<%
BasePort = 8000
%>
BindPort = ${ BasePort + InstID }
is_qq_or_wx = ${ 1 if SetName in ("aqq", "iqq") else 0  }
is_qq = ${ 1 if SetName.startswith('qq') else 0 }
% if SetName.startswith("qq"):
is_qq_or_wx = 1
% else:
is_qq_or_wx = 0
% endif
% for set_name in ("aqq", "iqq", "awx", "iwx"):  # every set
    % if set_name.endswith("qq"):
        ${ set_name } = 1
    % else:
        ${ set_name } = 0
    % endif
% endfor                                         # the end
           ## a comment
some text  ## no comment
<%doc>
one
two
</%doc>
db_domain=${ this.cc_set.attrib['set_config'] }
